package cli

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// when formats a time in the local zone.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// clock converts a time in a response to local time.
func clock(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return show.Clean(text)
	}
	return at.Local().Format("15:04:05")
}

func opt[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// orBlank returns v, or "" if it is nil.
func orBlank(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func counts(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
