package e2e_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestLogsShowTheAccessLogOfAFarm(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		if out, code := a.run("logs", "shop"); code != 1 || !strings.Contains(out, "sluice farm set shop logs=true") {
			t.Errorf("without a log: %d %s", code, out)
		}
		a.must("farm", "set", "shop", "logs=true")
		if out := a.must("logs", "shop"); out != "" {
			t.Errorf("before the first request: got %s, want \"\"", out)
		}
		for _, path := range []string{"first", "second"} {
			if _, err := get(url + path); err != nil {
				t.Fatal(err)
			}
		}
		within(t, 10*time.Second, "both lines are shown", func() error { // in the order of their loops
			if out := a.must("logs", "shop"); !strings.Contains(out, "/second") || !strings.Contains(out, "/first") {
				return os.ErrNotExist
			}
			return nil
		})
		if out := a.must("logs", "shop", "-n", "1"); strings.Count(out, "\n") != 1 {
			t.Errorf("one line: %q", out)
		}
		if out, code := a.run("logs"); code != 1 || !strings.Contains(out, "that started it") {
			t.Errorf("the log of an appliance that writes to a pipe: %d %s", code, out)
		}
	})
}
