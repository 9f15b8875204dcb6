"""Devices for other processes: a service on a Unix socket, tensors in shared memory, clients as in process.

``pippin nnrt serve`` runs :class:`~pippin.nnrt.service.server.Server`; :func:`pippin.nnrt.connect` is the way to it.
Linux.
"""
