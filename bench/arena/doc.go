// Package arena prepares the network in which contestants run: a private network
// namespace with only a loopback device and the settings that short connections need, or
// plain loopback if namespaces are unavailable. It also allocates unused ports.
package arena
