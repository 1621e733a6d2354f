package acme

// AccountName is the setting an account is kept in.
func AccountName(directory string) string { return accountName(directory) }
