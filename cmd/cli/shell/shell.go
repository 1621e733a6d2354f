package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// Shell runs typed commands or scripts.
type Shell struct {
	// Name is an optional first word of commands, for lines copied from sh.
	Name string
	// Prompt is shown before each line on a terminal.
	Prompt string
	// Run runs a command and returns its exit status. The command may read from in.
	Run func(words []string, in io.Reader) int
	// Complete returns the completions of a word after others.
	Complete func(words []string, last string) Offers
	// Private reports whether a command contains a secret and must not be kept.
	Private func(words []string) bool
	History *History
	Errors  io.Writer
}

// statusUsage is the exit status of an invalid line.
const statusUsage = 2

// Talk runs commands typed on a terminal until exit or Ctrl-D, and returns the exit status
// of the last command. Ctrl-C discards a line.
func (s *Shell) Talk(in *os.File, out io.Writer) (int, error) {
	lines := &terminal.Lines{In: in, Out: out, History: s.History, Complete: func(before string) (string, string) {
		columns, _ := terminal.Size(in)
		return s.complete(before, columns)
	}}
	status := 0
	for {
		line, err := s.whole(lines.Read)
		switch {
		case errors.Is(err, terminal.ErrInterrupted):
			continue
		case errors.Is(err, io.EOF):
			return status, nil
		case err != nil:
			return status, err
		}
		over := false
		if status, over = s.line(line, in, status); over {
			return status, nil
		}
	}
}

// whole reads lines until all quotes are closed.
func (s *Shell) whole(read func(prompt string) (string, error)) (string, error) {
	line, err := read(s.Prompt)
	for err == nil {
		if _, _, open := split(line); !errors.Is(open, errOpen) {
			break
		}
		var more string
		more, err = read("> ")
		line += "\n" + more
	}
	return line, err
}

// Script runs the lines of an input other than a terminal. Its commands read from it, too.
func (s *Shell) Script(in io.Reader) (int, error) {
	from := bufio.NewReader(in)
	if first, _, err := from.ReadRune(); err == nil && first != '\ufeff' { // some Windows editors write a BOM
		_ = from.UnreadRune()
	}
	status := 0
	for {
		line, err := s.whole(func(string) (string, error) {
			text, err := from.ReadString('\n')
			if errors.Is(err, io.EOF) && text != "" {
				err = nil
			}
			return strings.TrimSuffix(text, "\n"), err
		})
		if errors.Is(err, io.EOF) && strings.TrimSpace(line) != "" {
			return s.wrong(errOpen), nil
		}
		if errors.Is(err, io.EOF) {
			return status, nil
		}
		if err != nil {
			return status, err
		}
		over := false
		if status, over = s.line(line, from, status); over {
			return status, nil
		}
	}
}

// line runs a line; over means that it was the last one. last is the status so far.
func (s *Shell) line(line string, in io.Reader, last int) (status int, over bool) {
	found, _, err := split(line)
	words := texts(found)
	if s.History != nil && !strings.HasPrefix(line, " ") && len(words) > 0 && !s.Private(words) {
		if err := s.History.Keep(line); err != nil {
			fmt.Fprintf(s.Errors, "%s: the history cannot be kept: %v\n", s.Name, err)
		}
	}
	if err != nil {
		return s.wrong(err), false
	}
	if len(words) > 0 && words[0] == s.Name {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return last, false
	case words[0] == "exit" || words[0] == "quit":
		return s.exit(words[1:], last)
	}
	return s.Run(words, in), false
}

// exit ends the shell with a status, by default that of the last command.
func (s *Shell) exit(args []string, last int) (int, bool) {
	if len(args) == 0 {
		return last, true
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > 255 || len(args) > 1 {
		return s.wrong(errors.New("write exit, or exit with a number from 0 to 255")), false
	}
	return n, true
}

func (s *Shell) wrong(err error) int {
	fmt.Fprintf(s.Errors, "%s: %v\n", s.Name, err)
	return statusUsage
}
