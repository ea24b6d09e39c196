"""What people see: the audit in sentences, pictures, the HTML report."""
