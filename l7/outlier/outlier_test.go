package outlier_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/outlier"
)

// countsOf returns the counts of a backend with that many requests and failures, whose responses
// took took.
func countsOf(requests, failures uint64, took time.Duration) outlier.Count {
	c := outlier.Count{Requests: requests, Failures: failures}
	for range requests - failures {
		c.FirstByte.Observe(int64(took))
	}
	return c
}

const usual = 4 * time.Millisecond

func TestFailureRateAboveTheLimitIsAnOutlier(t *testing.T) {
	for name, c := range map[string]struct {
		counts []outlier.Count
		want   []int
	}{
		"one of three":             {[]outlier.Count{countsOf(100, 31, usual), countsOf(100, 0, usual), countsOf(100, 30, usual)}, []int{0}},
		"as many as allowed":       {[]outlier.Count{countsOf(100, 30, usual), countsOf(100, 0, usual)}, nil},
		"too few to say":           {[]outlier.Count{countsOf(19, 19, usual), countsOf(100, 0, usual)}, nil},
		"just enough to say":       {[]outlier.Count{countsOf(20, 20, usual), countsOf(100, 0, usual)}, []int{0}},
		"all of them":              {[]outlier.Count{countsOf(100, 80, usual), countsOf(100, 31, usual), countsOf(100, 90, usual)}, nil},
		"the worst first":          {[]outlier.Count{countsOf(100, 40, usual), countsOf(100, 90, usual), countsOf(100, 1, usual)}, []int{1, 0}},
		"nobody else was asked":    {[]outlier.Count{countsOf(100, 90, usual), {}}, []int{0}},
		"another with few is well": {[]outlier.Count{countsOf(100, 90, usual), countsOf(3, 0, usual)}, []int{0}},
		"alone":                    {[]outlier.Count{countsOf(100, 90, usual)}, []int{0}},
		"both of two":              {[]outlier.Count{countsOf(100, 90, usual), countsOf(100, 80, usual)}, nil},
		"nothing":                  {nil, nil},
	} {
		l := outlier.Limits{Rate: 30, Requests: 20}
		check(t, name, &l, c.counts, health.CauseRate, c.want)
	}
}

func TestSlowBackendIsAnOutlier(t *testing.T) {
	long := 64 * time.Millisecond
	for name, c := range map[string]struct {
		counts []outlier.Count
		want   []int
	}{
		"one of two":              {[]outlier.Count{countsOf(100, 0, usual), countsOf(100, 0, long)}, []int{1}},
		"two of three":            {[]outlier.Count{countsOf(100, 0, long), countsOf(100, 0, usual), countsOf(100, 0, 2*long)}, []int{2, 0}},
		"three times":             {[]outlier.Count{countsOf(100, 0, 20*time.Millisecond), countsOf(100, 0, 50*time.Millisecond)}, nil},
		"all alike":               {[]outlier.Count{countsOf(100, 0, long), countsOf(100, 0, long)}, nil},
		"too few to say":          {[]outlier.Count{countsOf(100, 0, usual), countsOf(19, 0, long)}, nil},
		"too few to compare":      {[]outlier.Count{countsOf(19, 0, usual), countsOf(100, 0, long)}, nil},
		"alone":                   {[]outlier.Count{countsOf(100, 0, long)}, nil},
		"enough to compare":       {[]outlier.Count{countsOf(20, 0, usual), countsOf(100, 0, long)}, []int{1}},
		"by the middle of others": {[]outlier.Count{countsOf(100, 0, usual), countsOf(100, 0, 20*time.Millisecond), countsOf(100, 0, 20*time.Millisecond), countsOf(100, 0, 20*time.Millisecond), countsOf(100, 0, long)}, nil},
		"short all the same":      {[]outlier.Count{countsOf(100, 0, 100*time.Microsecond), countsOf(100, 0, usual)}, nil},
		"nobody answered":         {[]outlier.Count{countsOf(100, 100, 0), countsOf(100, 100, 0)}, nil},
		"few requests of many":    {[]outlier.Count{countsOf(100, 0, usual), mixed(60, usual, 40, time.Second)}, nil},
		"most requests":           {[]outlier.Count{countsOf(100, 0, usual), mixed(40, usual, 60, time.Second)}, []int{1}},
	} {
		l := outlier.Limits{Slow: 4, Requests: 20}
		check(t, name, &l, c.counts, health.CauseSlow, c.want)
	}
}

// mixed returns the counts of a backend with n requests that took a and m that took b.
func mixed(n int, a time.Duration, m int, b time.Duration) outlier.Count {
	c := countsOf(uint64(n), 0, a)
	for range m {
		c.FirstByte.Observe(int64(b))
	}
	c.Requests += uint64(m)
	return c
}

func check(t *testing.T, name string, l *outlier.Limits, counts []outlier.Count, cause health.Cause, want []int) {
	t.Helper()
	got := l.Find(counts)
	if len(got) != len(want) {
		t.Errorf("%s: found %+v, want %v", name, got, want)
		return
	}
	for i, f := range got {
		if f.Index != want[i] || f.Cause != cause || f.Why == "" {
			t.Errorf("%s: found %+v, want %v", name, got, want)
		}
	}
	if got := new(outlier.Limits).Find(counts); got != nil {
		t.Errorf("%s: without limits found %+v", name, got)
	}
}

func TestFailuresPrecedeLatency(t *testing.T) {
	l := outlier.Limits{Rate: 10, Slow: 2}
	got := l.Find([]outlier.Count{countsOf(100, 0, time.Second), countsOf(100, 50, usual), countsOf(100, 0, usual)})
	if len(got) != 2 || got[0].Index != 1 || got[1].Index != 0 {
		t.Fatalf("found %+v", got)
	}
	// The values are middles of histogram buckets: 536.870912 to 1073.741824 ms, and
	// 2.097152 to 4.194304 ms.
	if got[0].Why != "50 of 100 requests failed, more than 10 %" || got[1].Why != "half of its answers took more than 805ms, those of others 3.15ms" {
		t.Errorf("reasons %q and %q", got[0].Why, got[1].Why)
	}
}

func TestCountsCoverAWindow(t *testing.T) {
	b := stats.Backend{Responses: [5]uint64{100, 10, 2, 3, 4}, Failures: 7} // 4 with 5xx, 3 without a response
	var times stats.Times
	times.FirstByte.Observe(int64(usual))
	before := outlier.CountOf(&b, &times)
	if before.Requests != 22 || before.Failures != 7 {
		t.Fatalf("counted %+v", before)
	}
	b.Responses[1] += 5
	b.Failures += 2
	for range 3 {
		times.FirstByte.Observe(int64(time.Second))
	}
	after := outlier.CountOf(&b, &times)
	got := after.Since(&before)
	if took, _ := got.FirstByte.Quantile(0.5); got.Requests != 7 || got.Failures != 2 || got.FirstByte.Count() != 3 || took < usual {
		t.Errorf("in the window %+v", got)
	}
	b.Responses[1]++
	if again := outlier.CountOf(&b, &times); again.Since(&after).Requests != 1 {
		t.Error("a request without a failure is not counted")
	}
	for name, wiped := range map[string]outlier.Count{"requests": {Requests: 21, Failures: 7}, "failures": {Requests: 30, Failures: 6}} {
		if got := wiped.Since(&before); got.Requests != 0 || got.Failures != 0 {
			t.Errorf("%s were wiped: %+v", name, got)
		}
	}
}
