package state

// Waiting is how many doors whoever leaves would look for.
func (p *ClientLimit) Waiting() int32 { return p.queue.Load() }
