// Package revive implements passive health checks. A backend to which a connect failed
// is marked down for all loops at once. It is then retried until a connect succeeds,
// soon at first and with the interval doubled each time.
//
// Retries are independent of client connections and run in the background. One
// goroutine checks ten times a second which backends are due. The connects run on
// loops, which own the sockets with marks. The number of concurrent connects is
// limited.
package revive
