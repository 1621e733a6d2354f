package cli

import "github.com/spf13/cobra"

// revisionCommands returns the commands about the whole configuration and its revisions.
func revisionCommands(c *client) []*cobra.Command {
	return []*cobra.Command{c.applyCommand(), c.exportCommand(), c.reloadCommand(), c.historyCommand(), c.diffCommand(), c.rollbackCommand(), c.transactionCommand(), c.pendingCommand(), c.confirmCommand(), c.tagCommand(), c.auditCommand()}
}

// revisionWords are the commands about the whole configuration by meaning.
var revisionWords = words{
	configure:     []string{"apply", "reload", "rollback", "transaction"},
	breakTrust:    []string{"apply", "rollback", "transaction"},
	read:          []string{"audit export", "check", "export"},
	showAndChange: []string{"pending"},
	ask:           map[string]asking{"apply": unnamed, "reload": unnamed, "rollback": unnamed, "transaction": deleting},
}
