package guard

// Hash returns the hash that the password is compared with.
func (j *Job) Hash() string { return string(j.hash[:]) }

// Running reports whether Close has not been called.
func (c *Checker) Running() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return !c.over
}
