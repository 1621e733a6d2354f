package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

// guesses is how many passwords of one client may be wrong or wait to be checked:
// thirty, then one more in half a minute.
var guesses = ratelimit.New(2, time.Minute, 30)
