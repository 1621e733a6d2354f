package cli

import "github.com/spf13/cobra"

// observeCommands returns the commands about traffic and the state of the appliance.
func observeCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.statusCommand(), c.statsCommand(), c.graphCommand(), c.topCommand(), c.logsCommand(), c.traceCommand(), c.questionsCommand(), c.explainCommand(), c.lintCommand(), c.timelineCommand(), c.headroomCommand(), c.rehearseCommand()}
}

// observeWords are the commands that observe traffic by meaning.
var observeWords = words{read: []string{"headroom", "logs", "questions", "rehearse", "trace"}}
