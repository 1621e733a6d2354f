package session

import "time"

// process is when this process began, by the system's clock.
var process = struct {
	at   time.Time
	unix int64
}{time.Now(), time.Now().UnixNano()}

// Now is the time sessions are kept by, in nanoseconds: Unix time as it was when
// the process began, and what has passed since. Unlike the system's clock it is
// never set: sessions neither end early nor live on when that one is.
func Now() int64 { return process.unix + int64(time.Since(process.at)) }
