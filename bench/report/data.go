package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicelb/sluice/bench/arena"
	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/witness"
)

// Schema names the form of the JSON; it changes when a field changes its
// meaning or goes away.
const Schema = "sluice-bench/1"

// Report is one run of the bench.
type Report struct {
	Schema      string             `json:"schema"`
	Started     time.Time          `json:"started"`
	Seconds     float64            `json:"seconds"`
	Machine     measure.Machine    `json:"machine"`
	Place       arena.Environment  `json:"place"`
	Settings    Settings           `json:"settings"`
	Contestants []peers.Contestant `json:"contestants"`
	Cases       []Case             `json:"cases"`
}

// Settings are the choices a run was made with.
type Settings struct {
	Rounds     int     `json:"rounds"`
	Slice      float64 `json:"slice_seconds"`
	Restarts   int     `json:"restarts"`
	Work       string  `json:"work"`   // "bare" or "equal"
	Client     string  `json:"client"` // "own" or "wrk"
	Wrk        string  `json:"wrk,omitempty"`
	H2load     string  `json:"h2load,omitempty"` // version; only if a case needs it
	ProxyCPU   int     `json:"proxy_cpu"`
	ClientCPU  int     `json:"client_cpu"`
	BackendCPU int     `json:"backend_cpu"`
	Go         string  `json:"go"`
}

// Case is what one case gave.
type Case struct {
	cases.Case
	Rounds  []Round `json:"rounds"`
	Summary Summary `json:"summary"`
	// Problem says why the case could not be run to its end; empty: it was.
	Problem string `json:"problem,omitempty"`
}

// Round is one slice of each contestant, one right after the other.
type Round struct {
	Number  int     `json:"round"`   // from 1
	Restart int     `json:"restart"` // which start of the contestants, from 1
	Foreign float64 `json:"foreign"` // highest of the slices, in CPUs
	Slices  []Slice `json:"slices"`  // in the order they were run
}

// Slice is one contestant under load for a moment.
type Slice struct {
	Contestant string `json:"contestant"`
	// Value is the figure that is compared; Unit of the summary says what it is.
	// Valid only without Reason.
	Value float64 `json:"value"`
	// Reason says why the slice does not count; empty: it does.
	Reason   string            `json:"reason,omitempty"`
	Requests uint64            `json:"requests"`
	Errors   uint64            `json:"errors"`
	Causes   map[string]uint64 `json:"causes,omitempty"`
	Seconds  float64           `json:"seconds"`
	// Processor time during the slice, in seconds. Proxy is exact; User and
	// System come from the coarser accounting.
	Proxy   float64 `json:"proxy_cpu"`
	User    float64 `json:"proxy_user"`
	System  float64 `json:"proxy_system"`
	Client  float64 `json:"client_cpu"`
	Backend float64 `json:"backend_cpu"`
	// Direct is the processor time of a round trip without the contestant, in
	// microseconds; valid in cases of datagrams.
	Direct float64 `json:"direct_us,omitempty"`
	// Foreign is what anything else used, in CPUs.
	Foreign float64 `json:"foreign"`
	// Disagree is set when the two accountings of the proxy differ too much.
	Disagree bool    `json:"disagree,omitempty"`
	Latency  Latency `json:"latency"`
	// Quiet is the latency without slow clients; valid in slow cases.
	Quiet Latency `json:"quiet,omitzero"`
	// Raw and QuietRaw are the same before the requests were left out that met
	// a stall of the machine; LeftOut and QuietLeftOut are the shares that were.
	Raw          Latency `json:"raw,omitzero"`
	QuietRaw     Latency `json:"quiet_raw,omitzero"`
	LeftOut      float64 `json:"left_out,omitempty"`
	QuietLeftOut float64 `json:"quiet_left_out,omitempty"`
	// SlowClosed is how many slow clients the proxy closed; valid in slow cases.
	SlowClosed uint64 `json:"slow_closed,omitempty"`
	// Calls is how many system calls of the contestant a request took, counted
	// behind the last round of the last start; 0: not known.
	Calls float64 `json:"calls_per_request,omitempty"`
	// Memory of all processes (Pss) before and after, in bytes. Throughput
	// cases have After only, and only in the last round of a start.
	Before int64 `json:"pss_before,omitempty"`
	After  int64 `json:"pss_after,omitempty"`
	// Buckets is the latency in full, for the sum over rounds.
	Buckets measure.Sparse `json:"-"`
	// Samples are the requests one by one, where the load is paced.
	Samples []witness.Sample `json:"-"`
}

// Latency is a distribution in microseconds; 0 where the client does not tell.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// NewLatency reads the usual percentiles off a histogram.
func NewLatency(h *measure.Histogram) Latency {
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	return Latency{
		P50: us(h.Percentile(50)), P90: us(h.Percentile(90)),
		P99: us(h.Percentile(99)), P999: us(h.Percentile(99.9)), Max: us(h.Max()),
	}
}

// Sift leaves out the requests that met a stall of the machine.
func (s *Slice) Sift(stalls []witness.Stall) {
	kept, left := witness.Sift(s.Samples, stalls)
	s.Raw, s.LeftOut = s.Latency, left
	s.Latency, s.Buckets = NewLatency(&kept), kept.Sparse()
}

// Save writes the report as JSON, making the directory if need be.
func (r *Report) Save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Load reads a report back.
func Load(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q, this bench reads %q", path, r.Schema, Schema)
	}
	return &r, nil
}
