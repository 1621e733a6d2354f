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

// Schema identifies the format of the JSON. It changes if a field changes its meaning or
// is removed.
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

// Settings are the parameters of a run.
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

// Case is the result of one case.
type Case struct {
	cases.Case
	Rounds  []Round `json:"rounds"`
	Summary Summary `json:"summary"`
	// Problem is the reason why the case was not completed, or "".
	Problem string `json:"problem,omitempty"`
}

// Round is one slice of each contestant in immediate succession.
type Round struct {
	Number  int     `json:"round"`   // from 1
	Restart int     `json:"restart"` // number of the start of the contestants, from 1
	Foreign float64 `json:"foreign"` // maximum of the slices, in CPUs
	Slices  []Slice `json:"slices"`  // in the order of execution
}

// Slice is the result of one contestant under load.
type Slice struct {
	Contestant string `json:"contestant"`
	// Value is the compared figure in the Unit of the summary. Valid only without Reason.
	Value float64 `json:"value"`
	// Reason is the reason why the slice does not count, or "".
	Reason string `json:"reason,omitempty"`
	// Unsupported is true if the contestant has no feature for the case.
	Unsupported bool `json:"unsupported,omitempty"`

	Requests uint64            `json:"requests"`
	Errors   uint64            `json:"errors"`
	Causes   map[string]uint64 `json:"causes,omitempty"`
	Seconds  float64           `json:"seconds"`
	// CPU time during the slice, in seconds. Proxy is exact; User and System come from
	// the coarser accounting.
	Proxy   float64 `json:"proxy_cpu"`
	User    float64 `json:"proxy_user"`
	System  float64 `json:"proxy_system"`
	Client  float64 `json:"client_cpu"`
	Backend float64 `json:"backend_cpu"`
	// Direct is the CPU time of a round trip without the contestant, in microseconds;
	// valid in cases with datagrams.
	Direct float64 `json:"direct_us,omitempty"`
	// Foreign is the load of all other processes, in CPUs.
	Foreign float64 `json:"foreign"`
	// Disagree is true if the two accountings of the proxy differ too much.
	Disagree bool    `json:"disagree,omitempty"`
	Latency  Latency `json:"latency"`
	// Quiet is the latency without slow clients; valid in slow cases.
	Quiet Latency `json:"quiet,omitzero"`
	// Raw and QuietRaw include the requests affected by stalls of the machine. LeftOut
	// and QuietLeftOut are the shares of such requests.
	Raw          Latency `json:"raw,omitzero"`
	QuietRaw     Latency `json:"quiet_raw,omitzero"`
	LeftOut      float64 `json:"left_out,omitempty"`
	QuietLeftOut float64 `json:"quiet_left_out,omitempty"`
	// SlowClosed is the number of slow clients that the proxy closed; valid in slow
	// cases.
	SlowClosed uint64 `json:"slow_closed,omitempty"`
	// Calls is the number of system calls of the contestant per request, counted after
	// the last round of the last start; 0: unknown.
	Calls float64 `json:"calls_per_request,omitempty"`
	// Memory of all processes (Pss) before and after, in bytes. Throughput
	// cases have After only, and only in the last round of a start.
	Before int64 `json:"pss_before,omitempty"`
	After  int64 `json:"pss_after,omitempty"`
	// Buckets is the complete latency histogram, for the sum over rounds.
	Buckets measure.Sparse `json:"-"`
	// Samples are the individual requests if the load is paced.
	Samples []witness.Sample `json:"-"`
}

// Latency is a distribution in microseconds; 0 means that the client does not report it.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// NewLatency returns the usual percentiles of a histogram.
func NewLatency(h *measure.Histogram) Latency {
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	return Latency{
		P50: us(h.Percentile(50)), P90: us(h.Percentile(90)),
		P99: us(h.Percentile(99)), P999: us(h.Percentile(99.9)), Max: us(h.Max()),
	}
}

// Sift excludes the requests affected by stalls of the machine.
func (s *Slice) Sift(stalls []witness.Stall) {
	kept, left := witness.Sift(s.Samples, stalls)
	s.Raw, s.LeftOut = s.Latency, left
	s.Latency, s.Buckets = NewLatency(&kept), kept.Sparse()
}

// Save writes the report as JSON, creating the folder if necessary.
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

// Load reads a report.
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
