"""The suite on unmutated code: outcomes, durations and reach, from several runs that must agree."""
