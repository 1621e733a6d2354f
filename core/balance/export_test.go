package balance

import "time"

// CameUp makes the backend one that became usable so long ago.
func (l *Load) CameUp(ago time.Duration) {
	l.since.Store(clock() - int64(ago))
	l.seen.Store(seenUsable)
}

// Since is when the backend became usable.
func (l *Load) Since() time.Duration { return time.Duration(l.since.Load()) }
