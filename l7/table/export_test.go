package table

// Remember creates the session of a client that got backend i.
func (c *Choice) Remember(s *Service, i int) int { return c.remember(s, i) }
