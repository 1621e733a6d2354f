package command

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// FormatTime formats a time in the local zone.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// formatClock converts a time in a response to local time.
func formatClock(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return show.Clean(text)
	}
	return at.Local().Format("15:04:05")
}

// Optional returns the value that v points to, or nil without one.
func Optional[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// OrBlank returns v, or "" if it is nil.
func OrBlank(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// Count returns a number with its noun, in the plural unless it is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
