"""Studies of classes: compared, calibrated, decided at a cost."""
