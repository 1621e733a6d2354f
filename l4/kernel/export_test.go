package kernel

import "time"

// SetRetryPause changes how often what failed is tried again; before Run.
func SetRetryPause(d time.Duration) (restore func()) {
	old := retryPause
	retryPause = d
	return func() { retryPause = old }
}
