package guard

// Hash returns the hash that the password is compared with.
func (j *Job) Hash() string { return string(j.hash[:]) }

// Running reports whether Close has not been called.
func (c *Checker) Running() bool {
	select {
	case <-c.stop:
		return false
	default:
		return true
	}
}
