package rounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/report"
)

// warmStreams is the number of requests per stream before a measured slice. They open the
// backend connections, and determine how many requests fill a slice.
const warmStreams = 5

// h2load runs a slice with h2load over HTTP/2. It connects within the slice, so the
// figures include one handshake per connection. It gets a number of requests instead of a
// duration, because a timed run includes the cost of uncounted requests in flight at the
// end.
func (r *Runner) h2load(ctx context.Context, c cases.Case, e *entrant, s *report.Slice) error {
	spec := r.spec(c, e)
	streams := c.Connections * c.Streams
	warm, _, err := r.h2loadOnce(ctx, c, spec, warmStreams*streams)
	if err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	if e.rate == 0 {
		e.rate = float64(warm.requests) / warm.seconds
	}
	before, err := r.take(e, nil)
	if err != nil {
		return err
	}
	result, used, err := r.h2loadOnce(ctx, c, spec, max(streams, int(e.rate*spec.Duration.Seconds())))
	if err != nil {
		return err
	}
	after, err := r.take(e, nil)
	if err != nil {
		return err
	}
	account(s, before, after, used)
	s.Requests, s.Seconds = result.requests, result.seconds
	e.rate = float64(result.requests) / result.seconds
	return lost(before, after)
}

// h2loadOnce runs a number of requests, which must all succeed, and returns the CPU time
// of the client.
func (r *Runner) h2loadOnce(ctx context.Context, c cases.Case, spec load.Spec, requests int) (result h2loadResult, used time.Duration, err error) {
	p, err := launch.Start(launch.Options{Path: r.opts.H2load, Args: h2loadArgs(c, spec, requests), CPU: r.opts.ClientCPU, Talk: true})
	if err != nil {
		return result, 0, fmt.Errorf("%w (install it with `bench/install.sh`)", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Stop() })
	defer stop()
	text, err := within(spec.Duration*4+patience, func() ([]byte, error) { return io.ReadAll(p.Out) })
	if err != nil {
		return result, 0, errors.Join(err, p.Stop())
	}
	<-p.Done()
	if result, err = parseH2load(string(text)); err != nil {
		return result, 0, fmt.Errorf("h2load: %w: %s", err, bytes.TrimSpace(text))
	}
	if err := result.check(requests, spec.Expect); err != nil {
		return result, 0, fmt.Errorf("h2load: %w", err)
	}
	return result, p.Used(), nil
}

// h2loadArgs returns the command line of h2load. Handshakes are the same as in other TLS
// cases, and only HTTP/2 is offered.
func h2loadArgs(c cases.Case, s load.Spec, requests int) []string {
	return []string{
		"-t1", fmt.Sprintf("-n%d", requests), fmt.Sprintf("-c%d", c.Connections), fmt.Sprintf("-m%d", c.Streams),
		"--groups=X25519", "--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--npn-list=h2",
		"--connect-to=" + s.Target.String(), "https://" + s.Host + s.Path,
	}
}

// h2loadResult is the parsed output of h2load.
type h2loadResult struct {
	requests uint64 // completed, with any status
	right    uint64 // with a status 2xx
	data     uint64 // bytes of bodies
	seconds  float64
	agreed   string // negotiated version, cipher, key and application protocol
}

var (
	h2loadTime     = regexp.MustCompile(`(?m)^finished in ([0-9.]+)(us|ms|s|m|h),`)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, `)
	h2loadStatus   = regexp.MustCompile(`(?m)^status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx$`)
	h2loadData     = regexp.MustCompile(`(?m)^traffic: .*, \S+ \((\d+)\) data$`)
	h2loadAgreed   = regexp.MustCompile(`(?m)^(?:TLS Protocol|Cipher|Server Temp Key|Application protocol): (.*)$`)
	errNoH2load    = errors.New("output has no line that counts requests")
	errH2load      = errors.New("not all requests were answered right")
	errAgreed      = errors.New("handshake agreed on something that cannot be compared")
)

// h2loadWanted is the only accepted handshake.
const h2loadWanted = "TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 253 bits h2"

func parseH2load(text string) (r h2loadResult, err error) {
	took, requests := h2loadTime.FindStringSubmatch(text), h2loadRequests.FindStringSubmatch(text)
	if took == nil || requests == nil {
		return r, errNoH2load
	}
	r.seconds = wrkMicros(took[1], took[2]) / 1e6
	r.requests, _ = strconv.ParseUint(requests[2], 10, 64)
	for _, m := range []struct {
		re   *regexp.Regexp
		into *uint64
	}{{h2loadStatus, &r.right}, {h2loadData, &r.data}} {
		if found := m.re.FindStringSubmatch(text); found != nil {
			*m.into, _ = strconv.ParseUint(found[1], 10, 64)
		}
	}
	var agreed []string
	for _, m := range h2loadAgreed.FindAllStringSubmatch(text, -1) {
		agreed = append(agreed, m[1])
	}
	r.agreed = strings.Join(agreed, " ")
	return r, nil
}

// check returns the first error that invalidates a run; body is the length of each
// correct response.
func (r h2loadResult) check(requests, body int) error {
	switch {
	case r.requests != uint64(requests) || r.right != uint64(requests) || r.data != uint64(requests)*uint64(body):
		return fmt.Errorf("%w: %d of %d, %d with status 2xx, %d bytes; the handshake agreed on %q", errH2load, r.requests, requests, r.right, r.data, r.agreed)
	case r.agreed != h2loadWanted:
		return fmt.Errorf("%w: %q", errAgreed, r.agreed)
	case r.seconds <= 0:
		return errNoH2load
	}
	return nil
}
