// Package load is the bench's own load generator: one loop on one thread that
// keeps N connections busy and records the latency of every exchange.
//
// It must be cheap, because it shares a CPU core with the backend and so bounds
// the rate of every measured proxy: one write, one read and one clock reading
// per exchange, no allocation, and bodies longer than the first read are thrown
// away inside the kernel instead of being copied. It is strict all the same: a
// status other than 200, a length other than the expected one, a response it
// cannot frame, or a connection that ends early is an error, and one error
// makes a slice worthless.
//
// It runs as its own process and talks in lines of JSON, so that the runner
// can sample the proxy while no request is in flight on either end of a slice:
//
//	runner              load
//	Spec          ──►   connects, one request on each connection
//	              ◄──   State{Ready}          (quiet: sample)
//	"go"          ──►   runs for Spec.Duration, then lets exchanges finish
//	              ◄──   Result                (quiet: sample)
//	end of input  ──►   closes its connections and ends
//
// Latency is measured in a closed loop: the next request on a connection waits
// for the answer to the one before. It compares proxies under equal pressure
// and says nothing about an open arrival process; with Spec.Rate requests are
// due at fixed times instead and latency counts from the due time.
package load
