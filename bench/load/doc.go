// Package load is the bench's own load generator: one loop on one thread that keeps N
// connections busy and records the latency of every exchange.
//
// It must be cheap, because it shares a CPU core with the backend and so bounds the rate
// of every measured proxy. An exchange costs one write, one read and one clock reading,
// without allocation. Bodies longer than the first read are discarded inside the kernel
// (MSG_TRUNC). It is strict nevertheless. A status other than 200, an unexpected length,
// an unframed response or an early close is an error, and one error invalidates a slice.
//
// It runs as its own process and uses lines of JSON, so that the runner can sample the
// proxy while no request is in flight at either end of a slice:
//
//	runner              load
//	Spec          ──►   connects, one request on each connection
//	              ◄──   State{Ready}          (quiet: sample)
//	"go"          ──►   runs for Spec.Duration, then lets exchanges finish
//	              ◄──   Result                (quiet: sample)
//	end of input  ──►   closes its connections and ends
//
// Latency is measured in a closed loop: the next request on a connection waits for the
// previous response. That compares proxies under equal pressure and says nothing about an
// open arrival process. With Spec.Rate, requests are due at fixed times and latency
// counts from the due time.
package load
