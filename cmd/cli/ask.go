package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// asking tells when a command asks for confirmation.
type asking int

const (
	never asking = iota
	// always: it deletes what the user named. Without a terminal it proceeds.
	always
	// deleting: it asks if it deletes something that the user named. Without a terminal it
	// proceeds.
	deleting
	// unnamed: it may delete more than the user named. It asks in that case and needs --yes
	// without a terminal.
	unnamed
	// forcing: it asks if the appliance requires force for the change and needs --yes
	// without a terminal.
	forcing
	// placed: it changes the rule at a position, where another one may be by now. It asks and
	// shows that rule. Without a terminal it proceeds.
	placed
	// taking: it asks if a farm takes over a port of this machine, e.g. of ssh or of the
	// API. Without a terminal it goes ahead. The commands that delete ask this, too.
	taking
)

// asksAlways are the verbs of commands that delete their arguments.
var asksAlways = []string{"delete", "remove", "remove-farm", "flush", "clean", "factory", "logout", "end", "reset"}

// asks returns when a command asks for confirmation.
func (c *client) asks(cmd *cobra.Command) asking {
	if how, listed := c.words.ask[nameOf(cmd)]; listed {
		return how
	}
	if slices.Contains(asksAlways, cmd.Name()) {
		return always
	}
	return never
}

// confirmed asks for confirmation if required. It returns the request to make, which is
// valid only for the change that was shown.
func (c *client) confirmed(ctx context.Context, r request) (request, error) {
	if c.running == nil || !r.changes() {
		return r, nil
	}
	how := c.asks(c.running.Command)
	if c.yes {
		if how == forcing {
			r = r.with("force", "true")
		}
		return r, nil
	}
	tty := c.asker()
	if how == never || how != unnamed && tty == nil {
		return r, nil
	}
	a, err := c.exchange(ctx, r.tried())
	if err != nil {
		return r, err
	}
	var body struct{ Params plan }
	if err := a.into(&body); err != nil {
		return r, err
	}
	if how == forcing {
		return c.askForced(r, tty, &body.Params)
	}
	changes := how != always || body.Params.Diff != "" // the end of connections, e.g., concerns no revision
	if changes && (how != taking || len(body.Params.TakesOver) > 0) && r.match == "" {
		r.match = a.header.Get("ETag")
	}
	shows := how == always || how == placed || len(body.Params.Deletions) > 0
	if tty != nil && shows && body.Params.Diff != "" && !c.json {
		if err := c.printDiff(c.running.Command, body.Params.Diff); err != nil {
			return r, err
		}
		c.sawDiff = true
	}
	return r, c.ask(tty, &body.Params)
}

// asker returns the terminal for questions, or nil. If a document is read from standard
// input, it is the terminal of the messages.
func (c *client) asker() *os.File {
	cmd := c.running.Command
	if tty := keyboard(cmd); tty != nil {
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

// ask asks whether to delete the objects of the plan and returns an error if declined.
func (c *client) ask(tty *os.File, p *plan) error {
	how := c.asks(c.running.Command)
	always := how == always || how == placed && p.Diff != ""
	switch {
	case !always && len(p.Deletions) == 0 && (len(p.TakesOver) == 0 || tty == nil):
		return nil
	case tty == nil:
		return c.unasked(p)
	}
	out := c.running.ErrOrStderr()
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
	return agreed(tty, out, question(c.running.String(), p, always))
}

// askForced asks whether to force a change that requires it. It returns the request with
// force.
func (c *client) askForced(r request, tty *os.File, p *plan) (request, error) {
	if p.NeedsForce == "" {
		return r, nil
	}
	if !c.json {
		if err := c.printDiff(c.running.Command, p.Diff); err != nil {
			return r, err
		}
	}
	out := c.running.ErrOrStderr()
	for _, w := range p.Warnings {
		if _, err := fmt.Fprintln(out, "Warning: "+show.Clean(w)); err != nil {
			return r, err
		}
	}
	return r.with("force", "true"), agreed(tty, out, c.running.String()+": are you sure? [y/N] ")
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

func question(command string, p *plan, always bool) string {
	if always || len(p.Deletions) == 0 {
		return fmt.Sprintf("%s: are you sure? [y/N] ", command)
	}
	return fmt.Sprintf("Delete %s? [y/N] ", counts(len(p.Deletions), "object"))
}

// mostNamed bounds the deletions listed in an error.
const mostNamed = 10

// unasked refuses unnamed deletions without a terminal.
func (c *client) unasked(p *plan) error {
	var names []string
	for i, d := range p.Deletions {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(p.Deletions)-i))
			break
		}
		names = append(names, d.behind(d.Kind+" "+d.Name))
	}
	remedy := "--yes to confirm"
	if c.running.Flags().Lookup("merge") != nil {
		remedy += ", or --merge to keep what the document does not name"
	}
	return fmt.Errorf("nothing was changed, because this deletes %s: add %s", strings.Join(names, "; "), remedy)
}
