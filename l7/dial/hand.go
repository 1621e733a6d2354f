package dial

// Hand gives a connection that carried an exchange to another owner, past the
// pool: to a client that keeps it, and to that client's next exchange.
func (c *Conn) Hand(owner Owner) { c.owner, c.reused = owner, true }

// Announced reports whether the connection began with a header that tells for
// whom it is.
func (c *Conn) Announced() bool { return c.announce != 0 }

// Fits reports whether the connection is one the target asks for: to its
// address, from the same one, with TLS if it says so, for the same name.
func (c *Conn) Fits(t *Target) bool { return c.leads(t) && c.options.Security == t.Options.Security }

// leads reports whether the connection goes where, and comes from where, the
// target says, and began as it says.
func (c *Conn) leads(t *Target) bool {
	return c.addr == t.Addr && c.options.Source == t.Options.Source && c.options.Mark == t.Options.Mark && c.announce == t.Announce
}
