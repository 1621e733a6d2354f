package state

import "time"

// epoch is what the clock of all loops begins near.
var epoch = time.Now()

// Skew is a time on the clock all loops share, in nanoseconds: positive, and not
// set back when the system's is. Of the time a loop's own clock began at it is what
// that clock is behind.
func Skew(t time.Time) int64 { return int64(t.Sub(epoch) + time.Second) }
