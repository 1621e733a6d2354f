package proxy

import "time"

// SetGrace shortens what a stopped farm's exchanges are given.
func (e *Engine) SetGrace(d time.Duration) { e.grace = d }
