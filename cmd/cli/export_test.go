package cli

import "github.com/spf13/cobra"

// IsSetting reports whether a flag is a setting.
var IsSetting = isSetting

// LongHelp is what the help of a command begins with.
func LongHelp(cmd *cobra.Command) string { return explained(cmd, onTerminal) }
