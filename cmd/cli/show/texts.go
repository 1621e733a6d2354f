package show

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Clean makes a text safe for a terminal: it escapes everything unprintable except line ends
// and tabs.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '·'
	}, s)
}

// Size formats a number of bytes with three digits.
func Size(n uint64) string {
	const step = 1024
	v, unit := float64(n), 0
	for v >= step && unit < 5 {
		v, unit = v/step, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", v, " KMGTP"[unit])
}

// statusColors follow Zevenet's web interface.
var statusColors = map[string]text.Colors{
	"up":             {text.FgGreen},
	"running":        {text.FgGreen},
	"down":           {text.FgRed},
	"critical":       {text.FgHiRed, text.Bold},
	"problem":        {text.FgBlue},
	"maintenance":    {text.FgYellow},
	"needed restart": {text.FgYellow},

	"error":   {text.FgHiRed, text.Bold},
	"warning": {text.FgYellow},

	"valid":           {text.FgGreen},
	"about to expire": {text.FgYellow},
	"expired":         {text.FgRed},
	"invalid":         {text.FgRed},
}

// Diff writes a unified diff.
func Diff(w io.Writer, diff string, colored bool) error {
	text.EnableColors() // the decision about colours was made before
	for line := range strings.Lines(diff) {
		line = Clean(strings.TrimSuffix(line, "\n"))
		if colored {
			line = diffColor(line).Sprint(line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func diffColor(line string) text.Colors {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return text.Colors{text.Bold}
	case strings.HasPrefix(line, "@@"):
		return text.Colors{text.FgCyan}
	case strings.HasPrefix(line, "+"):
		return text.Colors{text.FgGreen}
	case strings.HasPrefix(line, "-"):
		return text.Colors{text.FgRed}
	default:
		return text.Colors{}
	}
}
