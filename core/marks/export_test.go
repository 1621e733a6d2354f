package marks

import "time"

// SetLinger changes how long unused reserves are kept; before any is made.
func SetLinger(d time.Duration) (restore func()) {
	old := linger
	linger = d
	return func() { linger = old }
}

// Most is how many sockets of one kind are kept.
const Most = most
