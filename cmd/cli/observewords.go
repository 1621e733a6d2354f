package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
)

// observeCommands returns the commands about traffic and the state of the appliance.
func observeCommands(c *command.Line) []*cobra.Command {
	return []*cobra.Command{statusCommand(c), statsCommand(c), graphCommand(c), topCommand(c), logsCommand(c),
		traceCommand(c), questionsCommand(c), explainCommand(c), lintCommand(c), timelineCommand(c), headroomCommand(c), rehearseCommand(c)}
}

// observeWords are the commands that observe traffic by meaning.
var observeWords = command.Words{Read: []string{"headroom", "logs", "questions", "rehearse", "trace"}}
