package guard

// Hash is what the password is compared with.
func (j *Job) Hash() string { return string(j.hash[:]) }

// Running is true until Close.
func (c *Checker) Running() bool {
	select {
	case <-c.stop:
		return false
	default:
		return true
	}
}
