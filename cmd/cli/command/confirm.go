package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// Asking tells when a command asks for confirmation.
type Asking int

const (
	NeverAsk Asking = iota
	// always: it deletes what the user named. Without a terminal it proceeds.
	AskAlways
	// deleting: it asks if it deletes something that the user named. Without a terminal it
	// proceeds.
	AskDeleting
	// unnamed: it may delete more than the user named. It asks in that case and needs --yes
	// without a terminal.
	AskUnnamed
	// forcing: it asks if the appliance requires force for the change and needs --yes
	// without a terminal.
	AskForcing
	// placed: it changes the rule at a position, where another one may be by now. It asks and
	// shows that rule. Without a terminal it proceeds.
	AskPlaced
	// taking: it asks if a farm takes over a port of this machine, e.g. of ssh or of the
	// API. Without a terminal it goes ahead. The commands that delete ask this, too.
	AskTaking
)

// asksAlways are the verbs of commands that delete their arguments.
var asksAlways = []string{"delete", "remove", "remove-farm", "flush", "clean", "factory", "logout", "end", "reset"}

// asks returns when a command asks for confirmation.
func (c *Line) asks(cmd *cobra.Command) Asking {
	if how, listed := c.words.Ask[nameOf(cmd)]; listed {
		return how
	}
	if slices.Contains(asksAlways, cmd.Name()) {
		return AskAlways
	}
	return NeverAsk
}

// confirmed asks for confirmation if required. It returns the request to make, which is
// valid only for the change that was shown.
func (c *Line) confirmed(ctx context.Context, r client.Request) (client.Request, error) {
	if c.Running == nil || !r.Changes() {
		return r, nil
	}
	how := c.asks(c.Running.Command)
	if c.Yes {
		if how == AskForcing {
			r = r.With("force", "true")
		}
		return r, nil
	}
	tty := c.Asker()
	if how == NeverAsk || how != AskUnnamed && tty == nil {
		return r, nil
	}
	a, err := c.exchange(ctx, r.DryRun())
	if err != nil {
		return r, err
	}
	var body struct{ Params Plan }
	if err := a.Decode(&body); err != nil {
		return r, err
	}
	if how == AskForcing {
		return c.askForced(r, tty, &body.Params)
	}
	changes := how != AskAlways || body.Params.Diff != "" // the end of connections, e.g., concerns no revision
	if changes && (how != AskTaking || len(body.Params.TakesOver) > 0) && r.IfMatch == "" {
		r.IfMatch = a.Header.Get("ETag")
	}
	shows := how == AskAlways || how == AskPlaced || len(body.Params.Deletions) > 0
	if tty != nil && shows && body.Params.Diff != "" && !c.JSON {
		if err := c.PrintDiff(c.Running.Command, body.Params.Diff); err != nil {
			return r, err
		}
		c.diffShown = true
	}
	return r, c.Ask(tty, &body.Params)
}

// Asker returns the terminal for questions, or nil. If a document is read from standard
// input, it is the terminal of the messages.
func (c *Line) Asker() *os.File {
	cmd := c.Running.Command
	if tty := Keyboard(cmd); tty != nil {
		return tty
	}
	if f := cmd.Flags().Lookup("file"); f == nil || !slices.Contains([]string{"-", "[-]"}, f.Value.String()) || terminal.Of(cmd.ErrOrStderr()) == nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return tty // closed at exit: a command asks once
}

// errDeclined is the error of a change that the user declined.
var errDeclined = errors.New("nothing was changed")

// Ask asks whether to delete the objects of the plan and returns an error if declined.
func (c *Line) Ask(tty *os.File, p *Plan) error {
	how := c.asks(c.Running.Command)
	always := how == AskAlways || how == AskPlaced && p.Diff != ""
	switch {
	case !always && len(p.Deletions) == 0 && (len(p.TakesOver) == 0 || tty == nil):
		return nil
	case tty == nil:
		return c.unasked(p)
	}
	out := c.Running.ErrOrStderr()
	if mute, is := out.(*unheard); is {
		out = mute.to // questions must be visible
	}
	if err := printLines(out, p); err != nil {
		return err
	}
	for _, w := range p.TakesOver {
		if _, err := fmt.Fprintln(out, "Warning: "+show.Clean(w)); err != nil {
			return err
		}
	}
	return agreed(tty, out, question(c.Running.String(), p, always))
}

// askForced asks whether to force a change that requires it. It returns the request with
// force.
func (c *Line) askForced(r client.Request, tty *os.File, p *Plan) (client.Request, error) {
	if p.NeedsForce == "" {
		return r, nil
	}
	if !c.JSON {
		if err := c.PrintDiff(c.Running.Command, p.Diff); err != nil {
			return r, err
		}
	}
	out := c.Running.ErrOrStderr()
	for _, w := range p.Warnings {
		if _, err := fmt.Fprintln(out, "Warning: "+show.Clean(w)); err != nil {
			return r, err
		}
	}
	return r.With("force", "true"), agreed(tty, out, c.Running.String()+": are you sure? [y/N] ")
}

// agreed asks a question and returns an error unless the answer is yes.
func agreed(tty *os.File, out io.Writer, question string) error {
	answer, err := (&terminal.Lines{In: tty, Out: out}).Read(show.Clean(question))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, terminal.ErrInterrupted):
		return errDeclined
	case err != nil:
		return err
	case slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))):
		return nil
	}
	return errDeclined
}

func question(command string, p *Plan, always bool) string {
	if always || len(p.Deletions) == 0 {
		return fmt.Sprintf("%s: are you sure? [y/N] ", command)
	}
	return fmt.Sprintf("Delete %s? [y/N] ", Count(len(p.Deletions), "object"))
}

// mostNamed bounds the deletions listed in an error.
const mostNamed = 10

// unasked refuses unnamed deletions without a terminal.
func (c *Line) unasked(p *Plan) error {
	var names []string
	for i, d := range p.Deletions {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(p.Deletions)-i))
			break
		}
		names = append(names, d.behind(d.Kind+" "+d.Name))
	}
	remedy := "--yes to confirm"
	if c.Running.Flags().Lookup("merge") != nil {
		remedy += ", or --merge to keep what the document does not name"
	}
	return fmt.Errorf("nothing was changed, because this deletes %s: add %s", strings.Join(names, "; "), remedy)
}
