package backend

// ConnsTo returns the number of HTTP/2 connections to a backend that accept streams.
func (p *Pool) ConnsTo(id uint32) int { return len(p.destination(id).conns) }
