package backend

// ConnsTo is how many connections of HTTP/2 to a backend take streams.
func (p *Pool) ConnsTo(id uint32) int { return len(p.destination(id).conns) }
