package accesslog

// recentSize bounds the lines that are kept of those somebody watched, in bytes.
const recentSize = 64 << 10

// recent are the last lines that were shown to watchers, for who looks for a fault later.
// What nobody ever watched is in access logs only, and nothing is kept of it here.
type recent struct {
	lines [][]byte
	size  int
}

// keep takes a line that nobody changes any more.
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

// Traced returns the last lines watchers were shown, the newest last, each an object as
// Watcher.Lines has them. Any goroutine.
func (p *Pump) Traced() []byte {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	out := make([]byte, 0, p.hub.recent.size+len(p.hub.recent.lines))
	for _, line := range p.hub.recent.lines {
		out = append(append(out, line...), '\n')
	}
	return out
}
