// Package timeseries stores time series in files of a fixed size. Each file holds all
// series of one object (a farm or the system).
//
// Every file has four archives: values every 5 s for an hour, means per minute for a day,
// per 5 minutes for a week and per hour for a year. New rows overwrite the oldest. A row
// is its time and a 16-bit value per series, so the file of a farm with ten backends has
// less than 1 MiB.
//
// Values are rounded to 0.05 % and are not negative. Missing measurements are unknown,
// which differs from 0.
//
// Files are not synced. They survive the death of the process, and a crash of the machine
// costs the last seconds at most. An unreadable file is renamed and a new one is started.
package timeseries
