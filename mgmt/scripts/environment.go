package scripts

import (
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// environment is what a script finds of an event.
func environment(e *event.Event) []string {
	return append([]string{"SLUICE_EVENT=" + string(e.Kind), "SLUICE_TIME=" + e.At.UTC().Format(time.RFC3339)}, e.Facts...)
}
