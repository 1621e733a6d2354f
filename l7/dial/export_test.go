package dial

// MaxIdle is maxIdle.
const MaxIdle = maxIdle

// IdleTo is how many idle connections there are to a backend.
func (p *Pool) IdleTo(id uint32) int { return p.of(id).count() }

// Forget makes what k keeps unknown to it: its connections are looked after in vain.
func (k *Kept) Forget() { k.list = nil }
