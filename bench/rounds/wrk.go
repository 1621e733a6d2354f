package rounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/report"
)

// wrk runs a slice with wrk. It connects within the slice and counts whole seconds, so
// its figures include slightly more than our own load.
func (r *Runner) wrk(ctx context.Context, c cases.Case, e *entrant, s *report.Slice) error {
	spec := r.spec(c, e)
	args, err := wrkArgs(spec, e.dir)
	if err != nil {
		return err
	}
	if logs(c, e) {
		e.access.skip()
	}
	before, err := r.take(e, nil)
	if err != nil {
		return err
	}
	p, err := launch.Start(launch.Options{Path: r.opts.Wrk, Args: args, CPU: pin(c, r.opts.ClientCPU), Talk: true})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Stop() })
	defer stop()
	text, err := within(spec.Duration+patience+5*time.Second, func() ([]byte, error) {
		return io.ReadAll(p.Out)
	})
	if err != nil {
		return errors.Join(err, p.Stop())
	}
	<-p.Done()
	result, err := parseWrk(string(text), spec.New)
	if err != nil {
		return fmt.Errorf("wrk: %w: %s", err, bytes.TrimSpace(text))
	}
	if logs(c, e) {
		if err := e.access.atLeast(ctx, result.requests); err != nil {
			return err
		}
	}
	after, err := r.take(e, nil)
	if err != nil {
		return err
	}
	account(s, before, after, p.Used())
	s.Requests, s.Errors, s.Seconds, s.Latency = result.requests, result.errors, result.seconds, result.latency
	return lost(before, after)
}

// wrkCan reports whether wrk supports the case: it neither selects handshakes nor learns
// cookies.
func wrkCan(c cases.Case) bool {
	return c.Streams == 0 && c.Secure != cases.Full && c.Secure != cases.Resumed && c.Feature != cases.Cookie && c.Feature != cases.CookieInsert
}

// wrkArgs returns the command line of wrk for a load. A request with a body needs a
// script, which it writes to dir.
func wrkArgs(s load.Spec, dir string) ([]string, error) {
	seconds := int(math.Max(1, math.Ceil(s.Duration.Seconds())))
	args := []string{"-t1", fmt.Sprintf("-c%d", s.Connections), fmt.Sprintf("-d%ds", seconds), "--latency", "-H", "Host: " + s.Host}
	if s.New {
		args = append(args, "-H", "Connection: close")
	}
	if s.Method != "GET" || s.Body > 0 {
		script := filepath.Join(dir, "wrk.lua")
		text := fmt.Sprintf("wrk.method = %q\nwrk.body = string.rep(\"x\", %d)\n", s.Method, s.Body)
		if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "-s", script)
	}
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	return append(args, fmt.Sprintf("%s://%s%s", scheme, s.Target, s.Path)), nil
}

type wrkResult struct {
	requests, errors uint64
	seconds          float64
	latency          report.Latency
}

var (
	wrkTotal  = regexp.MustCompile(`(?m)^\s*(\d+) requests in ([0-9.]+)(us|ms|s|m|h),`)
	wrkShare  = regexp.MustCompile(`(?m)^\s*(\d+)%\s+([0-9.]+)(us|ms|s|m|h)\s*$`)
	wrkErrors = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkStatus = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	errNoWrk  = errors.New("output has no line that counts requests")
)

// parseWrk parses the output of wrk. With a new connection per request it counts one
// "read error" per request if the server closes first; those are not errors.
func parseWrk(text string, closing bool) (wrkResult, error) {
	var r wrkResult
	total := wrkTotal.FindStringSubmatch(text)
	if total == nil {
		return r, errNoWrk
	}
	r.requests, _ = strconv.ParseUint(total[1], 10, 64)
	r.seconds = wrkMicros(total[2], total[3]) / 1e6
	for _, m := range wrkShare.FindAllStringSubmatch(text, -1) {
		switch v := wrkMicros(m[2], m[3]); m[1] {
		case "50":
			r.latency.P50 = v
		case "90":
			r.latency.P90 = v
		case "99":
			r.latency.P99 = v
		}
	}
	if m := wrkErrors.FindStringSubmatch(text); m != nil {
		for i, n := range m[1:] {
			if i == 1 && closing {
				continue
			}
			v, _ := strconv.ParseUint(n, 10, 64)
			r.errors += v
		}
	}
	if m := wrkStatus.FindStringSubmatch(text); m != nil {
		v, _ := strconv.ParseUint(m[1], 10, 64)
		r.errors += v
	}
	return r, nil
}

func wrkMicros(number, unit string) float64 {
	v, _ := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return v * map[string]float64{"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}[unit]
}
