package dial

// MaxIdle is maxIdle.
const MaxIdle = maxIdle

// IdleTo returns the number of idle connections to a backend.
func (p *Pool) IdleTo(id uint32) int { return p.of(id).count() }

// Forget clears the list of k, so that its connections are no longer found.
func (k *Kept) Forget() { k.list = nil }
