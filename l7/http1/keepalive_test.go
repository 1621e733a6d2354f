package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestIdleTimeoutsAreRead(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]struct {
		seconds   int
		announced bool
	}{
		"Keep-Alive: timeout=5":              {5, true},
		"keep-alive: max=100, Timeout = 15 ": {15, true},
		"Keep-Alive: timeout=0":              {0, true},
		"Keep-Alive: timeout=99999999":       {86400, true},
		"Keep-Alive: timeout=4294967296":     {0, false},
		"Keep-Alive: timeout=-1":             {0, false},
		"Keep-Alive: timeout=":               {0, false},
		"Keep-Alive: timeout":                {0, false},
		"Keep-Alive: max=5":                  {0, false},
		"Keep-Alive: xtimeout=5":             {0, false},
		"Keep-Alive:":                        {0, false},
		"Other: timeout=5":                   {0, false},
	} {
		var r http1.Response
		if n, err := r.Parse([]byte("HTTP/1.1 200 OK\r\n" + field + "\r\nContent-Length: 0\r\n\r\n")); n == 0 || err != nil {
			t.Fatalf("%s: %d %v", field, n, err)
		}
		if seconds, announced := r.IdleTimeout(); seconds != want.seconds || announced != want.announced {
			t.Errorf("%s: got %d %t, want %+v", field, seconds, announced, want)
		}
	}
}
