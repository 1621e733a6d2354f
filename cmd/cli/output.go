package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// clean makes a text safe for a terminal: what is not printable is shown as
// such instead of being obeyed. Line ends and tabs stay.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return '·'
	}, s)
}

// colored reports whether output may have colours.
func (c *client) colored(w io.Writer) (bool, error) {
	switch c.color {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal.Of(w) != nil, nil
	default:
		return false, usagef("--color: %q is not allowed, allowed are auto, always and never", c.color)
	}
}

// statusColors follow the family's web interface.
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

// sheet is a table being filled: a heading, then rows of any values.
type sheet struct {
	heading []string
	rows    [][]any
	right   map[int]bool // columns of numbers
	widths  []int        // of the columns, once it was fitted
}

func newSheet(heading ...string) *sheet { return &sheet{heading: heading, right: map[int]bool{}} }

func (s *sheet) add(cells ...any) {
	row := make([]any, len(cells))
	for i, cell := range cells {
		switch cell.(type) {
		case int, uint64, uint32, uint16, float64:
			s.right[i] = true
		}
		row[i] = clean(shown(cell))
	}
	s.rows = append(s.rows, row)
}

// shown is a cell as text; what was never set is a dash.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = shown(v[i])
		}
		return shown(strings.Join(texts, ", "))
	default:
		return fmt.Sprint(v)
	}
}

// print writes the table: columns two blanks apart, no lines. On a terminal that
// is too narrow for it, it is several.
func (c *client) print(cmd *cobra.Command, s *sheet) error {
	colored, err := c.colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	for i, part := range s.fit(columnsOf(cmd.OutOrStdout())) {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), part.render(colored)); err != nil {
			return err
		}
	}
	return nil
}

func (s *sheet) render(colored bool) string {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var configs []table.ColumnConfig
	for i, name := range s.heading {
		config := table.ColumnConfig{Number: i + 1, WidthMax: s.widths[i], WidthMaxEnforcer: text.WrapSoft}
		if s.right[i] {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		if colored && name == "STATUS" {
			config.Transformer = func(v any) string { return statusColors[fmt.Sprint(v)].Sprint(v) }
		}
		configs = append(configs, config)
	}
	w.SetColumnConfigs(configs)
	w.AppendHeader(row(s.heading))
	for _, r := range s.rows {
		w.AppendRow(r)
	}
	text.EnableColors() // whether there are any was decided above
	return w.Render()
}

func row(cells []string) table.Row {
	out := make(table.Row, len(cells))
	for i, cell := range cells {
		out[i] = cell
	}
	return out
}

// printDiff writes a unified difference, coloured when allowed.
func (c *client) printDiff(cmd *cobra.Command, diff string) error {
	colored, err := c.colored(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	text.EnableColors()
	for line := range strings.Lines(diff) {
		line = clean(strings.TrimSuffix(line, "\n"))
		if colored {
			line = diffColor(line).Sprint(line)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
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

// say prints the answer's own message, or with --json the answer; a warning in
// it goes to stderr.
func (c *client) say(cmd *cobra.Command, a answer) error {
	if c.json {
		return c.printJSON(cmd, a)
	}
	var body struct{ Message, Warning string }
	if err := a.into(&body); err != nil {
		return err
	}
	warn(cmd, body.Warning)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), clean(body.Message))
	return err
}

func (c *client) printJSON(cmd *cobra.Command, a answer) error {
	_, err := cmd.OutOrStdout().Write(a.raw)
	return err
}
