// Package arena prepares the place where contestants meet: a private network
// namespace that holds nothing but its own loopback device, with the settings
// that short connections need, or plain loopback where namespaces cannot be
// had. It also hands out ports that nothing listens on.
package arena
