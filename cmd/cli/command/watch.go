package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

const (
	// usualWatch is the default interval of --watch.
	usualWatch = "2s"
	// oftenest is the minimum interval.
	oftenest = 100 * time.Millisecond
)

// watchedVerbs are the verbs of commands that can be watched.
var watchedVerbs = []string{"list", "show", "status", "stats", "top", "graph", "pending", "history", "timeline", "audit", "lint", "explain", "diff", "kernel", "packages", "scripts", "sessions", "config", "check", "language"}

// isWatched reports whether a command can be watched: by its verb, or because it shows
// settings if none is given.
func isWatched(cmd *cobra.Command) bool {
	reads := slices.Contains(watchedVerbs, cmd.Name()) && cmd.Flags().Lookup("file") == nil // a document is checked once
	return reads || cmd.Annotations[showsSettings] != ""
}

// showsSettings marks a command that shows settings if it changes none.
const showsSettings = "shows settings"

// every returns the refresh interval.
func every(cmd *cobra.Command, watch string) (time.Duration, error) {
	name, text := "--watch", watch
	if f := cmd.Flags().Lookup("interval"); f != nil && f.Changed { // obsolete spelling of --watch=TIME
		name, text = "--interval", f.Value.String()
	}
	if seconds, err := strconv.Atoi(text); err == nil {
		text = fmt.Sprint(seconds, "s")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, Usagef("%s: %q is not a time: write e.g. 2s or 500ms", name, text)
	}
	if d < oftenest {
		return 0, Usagef("%s must be at least 100ms, got %s", name, d)
	}
	return d, nil
}

// watched repeats a command until it is interrupted, which is no error. On a terminal each
// refresh replaces the previous output.
func (c *Line) watched(cmd *cobra.Command, watch string, args []string,
	run func(*cobra.Command, []string) error) error {
	interval, err := every(cmd, watch)
	if err != nil {
		return err
	}
	c.onlyReads = true
	out, wrong := cmd.OutOrStdout(), cmd.ErrOrStderr()
	defer func() { cmd.SetOut(out); cmd.SetErr(wrong) }()
	screen := terminal.Of(out)
	if c.JSON {
		screen = nil // the output is for a program
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for looks := 0; ; looks++ {
		seen := &look{behind: out}
		if screen != nil {
			cmd.SetOut(seen)
			cmd.SetErr(seen)
		} else if looks > 0 && !c.JSON {
			fmt.Fprintln(out)
		}
		err := run(cmd, args)
		switch {
		case Interrupted(cmd.Context()):
			return nil
		case err != nil && !errors.Is(err, ErrFound):
			return err
		}
		if screen != nil {
			if _, err := io.WriteString(out, seen.drawn(screen, looks == 0)); err != nil {
				return err
			}
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// Interrupted reports whether the user ended the command.
func Interrupted(ctx context.Context) bool { return ctx.Err() != nil }

// look is the output of one refresh, cut to the size of the terminal.
type look struct {
	bytes.Buffer
	behind io.Writer
}

// Behind returns the underlying output.
func (l *look) Behind() any { return l.behind }

const (
	toCorner    = "\x1b[H"
	clearScreen = "\x1b[2J"
	clearLine   = "\x1b[K" // from the cursor on
	clearBelow  = "\x1b[J"
)

// drawn returns the terminal output: each line replaces the previous one in its place.
func (l *look) drawn(screen *os.File, first bool) string {
	columns, rows := terminal.Size(screen)
	var out strings.Builder
	out.WriteString(toCorner)
	if first {
		out.WriteString(clearScreen)
	}
	lines := strings.Split(strings.TrimSuffix(l.String(), "\n"), "\n")
	for i, line := range lines {
		rows -= height(line, columns)
		if rows < 1 && columns > 0 { // the cursor stays in the last row
			fmt.Fprintf(&out, "(%d lines more)%s", len(lines)-i, clearLine)
			break
		}
		out.WriteString(line + clearLine + "\n")
	}
	return out.String() + clearBelow
}

// height returns the number of rows of a line.
func height(line string, columns int) int {
	if columns <= 0 {
		return 1
	}
	return max(1, (text.StringWidthWithoutEscSequences(line)+columns-1)/columns)
}
