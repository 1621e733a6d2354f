package accesslog

// recentSize limits the kept lines of watchers, in bytes.
const recentSize = 64 << 10

// recent holds the last lines that watchers got, for later diagnosis. Exchanges of other
// farms are only in access logs.
type recent struct {
	lines [][]byte
	size  int
}

// keep adds a line, which must not change any more.
func (r *recent) keep(line []byte) {
	if len(line) > recentSize {
		return
	}
	r.lines, r.size = append(r.lines, line), r.size+len(line)
	gone := 0
	for ; r.size > recentSize; gone++ {
		r.size -= len(r.lines[gone])
		r.lines[gone] = nil
	}
	r.lines = r.lines[gone:]
}

// Traced returns the last lines that watchers got, the newest last, in the format of
// Watcher.Lines. Any goroutine may call it.
func (p *Pump) Traced() []byte {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	out := make([]byte, 0, p.hub.recent.size+len(p.hub.recent.lines))
	for _, line := range p.hub.recent.lines {
		out = append(append(out, line...), '\n')
	}
	return out
}
