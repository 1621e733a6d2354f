package state

// Waiting returns the number of waiting doors seen by Leave.
func (p *ClientLimit) Waiting() int32 { return p.queue.Load() }
